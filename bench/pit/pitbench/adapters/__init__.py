"""Who is tested: one module for each provider, which asks it as a careful user would."""
