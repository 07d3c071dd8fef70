"""Where the steps of a publication run: in processes of this machine, or on Apache Spark.

A ``Task`` is one step for one partition: a function, the files it reads and the folder it writes.
A ``Compute`` runs tasks; nothing else knows where. Start reading at ``task.py``, then ``pool.py``
and ``choose.py``. What the steps do belongs to ``warehouse.steps`` and ``assets``.
"""
