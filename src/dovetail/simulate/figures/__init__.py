"""The papers' figures, simulated: one function a figure, numbers only. Drawing is the service's."""
