"""schemathesis reads the description and tries the service by it, with every check."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.contract_client import served_contract
from tests.helpers.nightly import is_nightly
from tests.helpers.paths import ROOT
from tests.helpers.seed import seed_of_this_run
from tests.helpers.whole_tables import query
from warehouse.shared.tiers import TIERS, TierName

# Each hundred takes minutes, and so does every value at the edge of every parameter.
EXAMPLES = 100 if is_nightly() else 1
PHASES = "examples,coverage,fuzzing" if is_nightly() else "examples,fuzzing"
# A schema cannot say of whom a row cap holds: 402 is the right answer to a sample key.
ACCEPTED = {"professional": ["2xx", "304", "404"], "sample": ["2xx", "304", "402", "404"]}
REFUSED = ["400", "401", "402", "404", "406", "414", "431"]


@pytest.mark.timeout(7_200 if is_nightly() else 900)
@pytest.mark.parametrize(
    "tier", ["professional", pytest.param("sample", marks=pytest.mark.nightly)]
)
def test_every_check_of_schemathesis_passes(
    tier: TierName,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lifted = {name: {"per_minute": 10**6, "per_month": 10**8} for name in TIERS}
    (tmp_path / "tiers.json").write_text(json.dumps(lifted))
    monkeypatch.setenv("SANKOFA_TIERS", str(tmp_path / "tiers.json"))
    with served_contract(tmp_path_factory) as api:
        config = tmp_path / "schemathesis.toml"
        config.write_text(
            f'headers = {{ "X-API-Key" = "{api.key(tier)}" }}\n'
            f"[checks.positive_data_acceptance]\nexpected-statuses = {ACCEPTED[tier]}\n"
            f"[checks.negative_data_rejection]\nexpected-statuses = {REFUSED}\n"
        )
        hooks = {"SCHEMATHESIS_HOOKS": "tests.helpers.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
        issuers = query(api.mart.build(), "SELECT DISTINCT service_id FROM fundamentals")
        known_ids = ",".join(str(service_id) for (service_id,) in issuers)
        completed = subprocess.run(
            [
                *(Path(sys.executable).with_name("schemathesis"), "--config-file", config),
                *("run", f"{api.server.address}/openapi.json", "--checks", "all", "--no-color"),
                *("--max-examples", str(EXAMPLES), "--phases", PHASES),
                *("--seed", str(seed_of_this_run())),
            ],
            env={**os.environ, **hooks, "KNOWN_IDS": known_ids},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
    shown = "\n".join(line[:300] for line in completed.stdout.splitlines())
    assert completed.returncode == 0, f"{shown}\n{completed.stderr}"
    assert "No issues found" in completed.stdout or "passed" in completed.stdout
