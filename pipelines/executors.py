"""Who executes the steps of Dagster's runs: their own process, Celery workers or Kubernetes."""

import dagster as dg

from warehouse.errors import SankofaError
from warehouse.settings import SETTINGS, Settings

KUBERNETES = "kubernetes"
# A worker takes one step at a time: a step uses all cores that it finds.
CELERY_CONFIG = {"worker_prefetch_multiplier": 1, "task_acks_late": True}


def executor(settings: Settings) -> dg.ExecutorDefinition:
    """Return the executor of an installation."""
    if not settings.executor:
        return dg.in_process_executor
    try:
        return _kubernetes() if settings.executor == KUBERNETES else _celery()
    except ImportError as error:
        extra = "kubernetes" if settings.executor == KUBERNETES else "workers"
        raise SankofaError(
            f"{SETTINGS['executor'].name} needs a package that is not installed ({error.name}): "
            f"`pip install -e .[{extra}]`"
        ) from error


def _celery() -> dg.ExecutorDefinition:
    from dagster_celery import celery_executor

    # By name: the address can hold a password, which Dagster's page would show.
    broker = {"env": SETTINGS["executor"].name}
    executor: dg.ExecutorDefinition = celery_executor.configured(
        {"broker": broker, "backend": broker, "config_source": CELERY_CONFIG}
    )
    return executor


def _kubernetes() -> dg.ExecutorDefinition:
    from dagster_k8s import k8s_job_executor

    executor: dg.ExecutorDefinition = k8s_job_executor
    return executor
