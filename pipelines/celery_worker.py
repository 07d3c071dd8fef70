"""A Celery worker that executes steps: ``celery -A pipelines.celery_worker worker -Q dagster``.

It takes its steps from the broker of ``SANKOFA_EXECUTOR``, which is that of the runs. A step is
acknowledged when it is done: one whose process was killed is executed again, by whoever is free.
"""

import os

from dagster_celery.executor import CeleryExecutor
from dagster_celery.make_app import make_app
from dagster_celery.tasks import create_task

from pipelines.executors import CELERY_CONFIG
from warehouse.errors import SankofaError
from warehouse.settings import SETTINGS, read_settings

_broker = read_settings(os.environ).executor
if not _broker.startswith("redis"):
    raise SankofaError(f"{SETTINGS['executor'].name} names no broker: give redis://…")
_worker = CeleryExecutor.for_cli(broker=_broker, backend=_broker, config_source=CELERY_CONFIG)  # type: ignore[no-untyped-call]
app = make_app(_worker.app_args())  # type: ignore[no-untyped-call]
execute_plan = create_task(app, acks_late=True, reject_on_worker_lost=True)  # type: ignore[no-untyped-call]
