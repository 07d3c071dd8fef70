"""The licence notice that goes with every answer of a build."""

_SERVED = (
    "Licence-clean: every source permits this use, and each row names its source_ref and "
    "license_class. No natural-person data. For research and information; not a regulated "
    "benchmark."
)

NOTICE = _SERVED
SAMPLE_NOTICE = (
    "FICTIONAL DATA of the sample world: every company, tender and figure is invented. " + _SERVED
)
