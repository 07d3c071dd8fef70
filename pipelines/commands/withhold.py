"""``sankofa withhold``, ``release``, ``withheld`` and ``erase``: what must not be served."""

import sys

import click

from pipelines import output
from pipelines.dagster_home import PUBLISH
from pipelines.withholding import (
    Change,
    Match,
    find_to_withhold,
    release_text,
    served_names,
    withhold_found,
)
from warehouse.control.models import recorded
from warehouse.publish.builds import builds_at
from warehouse.record.store import open_record
from warehouse.record.withheld import tombstones
from warehouse.shared.errors import SankofaError
from warehouse.shared.settings import read_settings

_WHAT = click.argument("what", metavar="PARTY|DOCUMENT|ROW")
_WHY = click.option(
    "--why", required=True, help="The reason, which is stored for ever: leave names out of it."
)
_DRY_RUN = click.option("--dry-run", is_flag=True, help="Only show what it would affect.")


@click.command()
@_WHAT
@_WHY
@_DRY_RUN
@click.option(
    "--in-advance",
    is_flag=True,
    help="Withhold a name that is nowhere in the record, in case it arrives.",
)
@click.option("--yes", is_flag=True, help="Do not ask before a name is withheld everywhere.")
@output.json_option
def withhold(
    what: str, why: str, dry_run: bool, in_advance: bool, yes: bool, as_json: bool
) -> None:
    """Withhold a party, a document or a row from every later build.

    Give what the service or a file shows: a name, a party_id, the key or number of a party, a
    service_id, an ocid, a fact_id or record_id, a source_ref, or the address or SHA-256 of a
    document. Nothing is deleted, and reading the document again does not bring it back.

    A name is withheld in every spelling: without its legal form, in any order, with initials,
    inside ids, addresses and e-mail addresses. The command lists what is written there, so that
    you see which firms of the same name go too, and asks.

    It takes effect with the next `sankofa publish`. Builds published before still contain it:
    `sankofa builds drop` removes them.
    """
    settings = read_settings()
    found = find_to_withhold(settings, what, why, in_advance=in_advance)
    if not as_json:
        _show_found(found)
    if found.spellings and not (dry_run or yes):
        if not sys.stdin.isatty():
            raise SankofaError(
                "a name is withheld everywhere it is written; look at the list with --dry-run, "
                "then run the command again with --yes"
            )
        click.confirm("Withhold all of these?", abort=True, err=True)
    change = Change(found, ()) if dry_run else withhold_found(settings, found, why)
    if as_json:
        _print_change(change, "withheld")
    else:
        _show_entries(change, "withheld", dry_run)


@click.command()
@_WHAT
@_WHY
@_DRY_RUN
@output.json_option
def release(what: str, why: str, dry_run: bool, as_json: bool) -> None:
    """Serve again what was withheld, from the next build on.

    Give what was withheld, or its id in `sankofa withheld`. Both entries are kept.
    """
    change = release_text(read_settings(), what, why, dry_run=dry_run)
    if as_json:
        _print_change(change, "released")
        return
    _show_found(change.found)
    _show_entries(change, "released", dry_run)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also what was released again.")
@click.option(
    "--check",
    is_flag=True,
    help="Search the build that is served for every withheld name, and print the places.",
)
@output.json_option
def withheld(everything: bool, check: bool, as_json: bool) -> None:
    """List what is withheld; people are listed by a keyed hash only.

    With --check, the status is 1 if a name is still served anywhere.
    """
    if check:
        _check_served(as_json)
        return
    # Everything ever withheld with its last entry, the newest last.
    entries = tombstones(open_record(read_settings()))
    output.print_rows(
        [entry for entry in entries if everything or not entry.released],
        as_json,
        "nothing is withheld",
        output.Column("id", lambda entry: entry.withheld_id[:12], whole=True),
        output.Column("kind", lambda entry: entry.kind),
        output.Column("by", lambda entry: entry.by, wide=True),
        output.Column(
            "state",
            lambda entry: (
                output.Styled("released", "green")
                if entry.released
                else output.Styled("withheld", "red")
            ),
        ),
        output.Column("when, UTC", lambda entry: output.moment(entry.entered_at), whole=True),
        output.Column("who", lambda entry: entry.who, wide=True),
        output.Column("why", lambda entry: entry.why),
    )


def _check_served(as_json: bool) -> None:
    places = sorted({str(finding) for finding in served_names(read_settings())})
    if as_json:
        output.print_json(places)
    else:
        for place in places:
            click.echo(place)
        click.echo(f"{len(places):,} places")
    if places:
        raise SystemExit(1)


@click.command()
@click.argument("document", metavar="DOCUMENT")
@_WHY
@_DRY_RUN
@click.option(
    "--unpublish",
    is_flag=True,
    help="Delete the current build at once if it contains the document, even if the audit refuses "
    "the next one. Until one is published nothing is served.",
)
@output.json_option
def erase(document: str, why: str, dry_run: bool, unpublish: bool, as_json: bool) -> None:
    """Erase a document and everything that was read from it, for good.

    Give the SHA-256 of a document, or the address from which it was read: then every document
    read from there is erased. Its bytes, rows, quarantined rows, and every build, file and page
    that contains rows of it are deleted, and a new build is published. Requests that pin an older
    one are refused and told why. The same bytes are never stored again.

    If it is interrupted, run it again.
    """
    # The others of this module need nothing of Dagster, which takes seconds to import.
    from pipelines.erasing import erase_documents, find_documents
    from pipelines.jobs import run_job

    settings = read_settings()

    def publish() -> str:
        confirmed = {"config": {"confirm_loss": f"a document was erased: {why}"}}
        try:
            run_job(settings, PUBLISH, config={"ops": {"quality": confirmed}})
        except SankofaError:
            if not unpublish:
                click.echo(
                    "sankofa: the document is erased from the landing and the record, but the "
                    "build being served still contains rows of it. Fix what follows and run the "
                    "same command again, or use --unpublish",
                    err=True,
                )
            raise
        return str(builds_at(settings.marts).current())

    found = find_documents(settings, document)
    replaced = None
    if not dry_run:
        documents = ", ".join(erasure.document for erasure in found)
        with recorded(settings.control, "erase", documents, why):
            replaced = erase_documents(settings, found, why, publish, unpublish=unpublish)
    if as_json:
        output.print_json({"erased": not dry_run, "documents": found, "data_version": replaced})
        return
    for erasure in found:
        click.echo(f"document {erasure.document} of {', '.join(erasure.sources)}")
        for label, names in (
            ("read from", erasure.addresses),
            ("rows", [f"{name} {count:,}" for name, count in erasure.rows.items()]),
            ("versions with rows of it", erasure.data_versions),
            ("other documents from there, which may repeat it", erasure.same_address),
        ):
            if names:
                click.echo(f"  {label}: {', '.join(names)}")
    if dry_run:
        click.echo("nothing was changed: this is a dry run")
        return
    click.echo("erased" if replaced is None else f"erased; published as data_version {replaced}")
    click.echo(
        "run `sankofa ingest` and `sankofa publish`: what later documents of the source repeat "
        "is read from them"
    )


def _print_change(change: Change, done: str) -> None:
    found = change.found
    output.print_json(
        {
            "kind": found.kind,
            "meaning": found.meaning,
            "rows": found.rows,
            "examples": found.examples,
            "spellings": dict(found.spellings),
            done: [entry.withheld_id for entry in change.entries],
        }
    )


def _show_found(found: Match) -> None:
    click.echo(f"{found.kind}: {found.meaning}")
    if found.rows:
        output.print_counts(found.rows, "table", "rows", whole=True)
    if found.spellings:
        output.print_counts(dict(found.spellings), "written as", "places")
    for example in found.examples:
        click.echo(f"  {example}")


def _show_entries(change: Change, done: str, dry_run: bool) -> None:
    if dry_run:
        click.echo("nothing was changed: this is a dry run")
    elif not change.entries:
        click.echo(f"it is {done} already")
    else:
        ids = ", ".join(entry.withheld_id[:12] for entry in change.entries)
        click.echo(f"{done} as {ids}; `sankofa publish` makes a build that follows it")
