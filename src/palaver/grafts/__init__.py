"""History from elsewhere: the values an importer gives (`values`), and how they come in (`driver`)."""
