"""The life of clusters: made, looked at, recovered, removed. Clouds are seen through `CloudApi` alone."""
