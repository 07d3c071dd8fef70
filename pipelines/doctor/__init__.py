"""``sankofa doctor``: the checks of an installation; ``pipelines/commands/doctor.py`` runs them."""
