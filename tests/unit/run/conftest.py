from board import board

__all__ = ["board"]
