"""`holdfast doctor`: what this machine is and has, what is wrong with it, and how to mend it."""

from holdfast.cli.arguments import Json


def doctor(as_json: Json = False) -> None:
    """Look over the machine, the installation and the ledger; exit code 5 if something is wrong."""
    from holdfast.cli.examination import examine
    from holdfast.cli.printed import print_columns, print_json
    from holdfast.errors import ResourceError

    findings = examine()
    wrong = [finding for finding in findings if finding.mend]
    if as_json:
        facts = {f.name: {"found": f.found, "ok": not f.mend, "mend": f.mend or None} for f in findings}
        print_json({"ok": not wrong, "findings": facts})
    else:
        print_columns(("✗" if f.mend else "✓", f.name, f.found) for f in findings)
        for finding in wrong:
            print(f"\n{finding.name}: {finding.mend}")
    if wrong:
        raise ResourceError(f"something is wrong with {', '.join(finding.name for finding in wrong)}; see above")
