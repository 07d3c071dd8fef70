"""What the service counts for Prometheus: ``declared.py`` names every metric.

A process keeps plain numbers (``counts.py``) and writes them to a small file once a second;
``sankofa metrics`` reads the files of all processes and serves their sums (``exposition.py``). The
surfaces import only ``counts.py``: nothing of the Prometheus client is loaded where requests are
answered.
"""
