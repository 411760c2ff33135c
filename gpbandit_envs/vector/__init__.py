"""Native vector environments: many bandits in one step, bit for bit what `SyncVectorEnv` would give."""
