"""Join state on disk: the live index that the processes of a host share, and the snapshots a rebuild starts
from."""
