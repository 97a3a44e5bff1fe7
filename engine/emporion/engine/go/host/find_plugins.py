"""List the provider packages that a program can import: the host runs this with `python -c` and reads the JSON.

Looks for `<module>/pulumi-plugin.json` in the folders of sys.path. Walking the files of every distribution instead would
read the RECORD of the large provider SDKs, tens of thousands of lines, on every command.
"""

import glob
import importlib.metadata
import json
import os
import sys


def version_of(module: str) -> str:
    """Return the installed version, empty when the module is not a distribution of that name."""
    try:
        return importlib.metadata.version(module)
    except importlib.metadata.PackageNotFoundError:
        return ""


def main() -> None:
    """Print one object per module; the first of a name on sys.path counts, as it does for import."""
    found: dict[str, dict[str, object]] = {}
    for folder in sys.path:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder or "."), "*", "pulumi-plugin.json"))):
            module = os.path.basename(os.path.dirname(path))
            if module in found:
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    plugin = json.load(file)
            except (OSError, ValueError):
                continue  # not a plugin's description; the import of the module will say what is wrong with it
            version = plugin.get("version") or version_of(module)
            found[module] = {"module": module, "version": version, "plugin": plugin}
    print(json.dumps(list(found.values())))


if __name__ == "__main__":
    main()
