"""What the machines of scale sets and the controller have in common: image, login, disk."""

from __future__ import annotations

from pulumi_azure_native import compute

from emporion.components.azure.images import ImageReference
from emporion.market.pin import PinnedImage

__all__ = ["ADMIN", "LOGIN", "NOBODYS_KEY", "OS_DISK", "image_reference", "linux", "purchase_plan"]

ADMIN = "emporion"
NOBODYS_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIET1mBAqNh/rtTuHjDwt5H8gtvTpd+EKsgggeToEekqu nobody"
"""Azure makes no Linux machine without a key or a password. This is the point of the curve whose encoding is the
SHA-256 of `emporion/nobody/0`: its private half is known to nobody. People log in with Entra ID (`LOGIN`)."""
LOGIN = {"name": "AADSSHLogin", "publisher": "Microsoft.Azure.ActiveDirectory", "type": "AADSSHLoginForLinux",
         "version": "1.0"}  # fmt: skip
"""The extension that lets people in by their Entra ID (learn.microsoft.com, Linux VM sign-in with OpenSSH, 2026-11)."""
OS_DISK = "StandardSSD_LRS"
"""As priced in data/chain.csv."""


def image_reference(image: PinnedImage) -> compute.ImageReferenceArgs:
    """Return the image as compute takes it."""
    found = ImageReference.parse(image.id)
    if found.id is not None:
        return compute.ImageReferenceArgs(id=found.id)
    return compute.ImageReferenceArgs(
        publisher=found.publisher, offer=found.offer, sku=found.sku, version=found.version
    )


def purchase_plan(image: PinnedImage) -> compute.PlanArgs | None:
    """Return the purchase plan of an image that is ordered under one."""
    found = ImageReference.parse(image.id)
    if not found.plan:
        return None
    return compute.PlanArgs(name=found.sku, product=found.offer, publisher=found.publisher)


def linux() -> compute.LinuxConfigurationArgs:
    """Return a configuration without a password."""
    return compute.LinuxConfigurationArgs(
        disable_password_authentication=True,
        provision_vm_agent=True,
        ssh=compute.SshConfigurationArgs(
            public_keys=[compute.SshPublicKeyArgs(path=f"/home/{ADMIN}/.ssh/authorized_keys", key_data=NOBODYS_KEY)]
        ),
    )
