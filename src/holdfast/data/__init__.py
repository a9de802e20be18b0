"""From files to the batch of (step, replica). Import from the files of this room; see its README."""
