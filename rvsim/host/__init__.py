"""What rvsim asks of the machine that it runs on: processor, files, signals, notebooks."""
