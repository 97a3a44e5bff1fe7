"""Google Cloud: what Emporion knows of this cloud. So far its prices; it is no cloud to deploy to yet."""
