"""Serves the components to programs in other languages."""

from importlib.metadata import version

from pulumi.provider.experimental import component_provider_host

from emporion.components import GpuCluster

component_provider_host(name="emporion", components=[GpuCluster], version=version("emporion"))
