"""The stand-in provider plugin: Pulumi's provider protocol over the world, by the rules of one cloud's folder."""
