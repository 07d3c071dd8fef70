"""Makes a bucket in the S3-compatible store: ``python -m deploy.bucket NAME``."""

import sys

import s3fs


def make_bucket(name: str) -> None:
    """Make a bucket; the address and the keys of the store are those of the environment (AWS_…)."""
    store = s3fs.S3FileSystem()
    if not store.exists(name):
        store.mkdir(name)


if __name__ == "__main__":
    make_bucket(sys.argv[1])
