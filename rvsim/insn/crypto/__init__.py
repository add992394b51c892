"""The vector cryptography extensions (Zvk*) and Zvbb, Zvbc."""
