"""What a program is and what surrounds it: its file, its symbols and lines, Linux, bare metal."""
