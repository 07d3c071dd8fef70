"""The processes of a deployment, in containers, as systemd units, or on one machine by a script.

``processes.py`` declares them once; ``python -m deploy`` starts them and writes the other forms.
"""
