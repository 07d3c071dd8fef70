"""Our service as a plain WSGI app, for granian: figures only."""

import os
from pathlib import Path

from api.app import create_app
from api.serve import keep_freed_memory
from warehouse.control.keys import KeyStore
from warehouse.serve.build import Mart
from warehouse.serve.usage import Usage
from warehouse.shared.tiers import configured_tiers

keep_freed_memory()
app = create_app(
    Mart(os.environ["SANKOFA_MARTS"]),
    KeyStore(os.environ["SANKOFA_CONTROL"], configured_tiers(Path(os.environ["SANKOFA_TIERS"]))),
    usage=Usage(os.environ["SANKOFA_USAGE"]),
)
