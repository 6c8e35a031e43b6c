package executor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is at the bound is not made here: it would be millions of places.
func TestConfigBounds(t *testing.T) {
	t.Run("EXEC-1_Size_and_QueueLimit_reach_the_bound_together", func(t *testing.T) {
		for _, cfg := range []Config{
			{Size: maxPlaces, QueueLimit: NoQueue},
			{Size: 1, QueueLimit: maxPlaces - 1},
			{Size: maxPlaces / 9},
		} {
			_, err := cfg.withDefaults()
			require.NoError(t, err, cfg)
		}
		for _, cfg := range []Config{
			{Size: maxPlaces + 1, QueueLimit: NoQueue},
			{Size: 1, QueueLimit: maxPlaces},
			{Size: maxPlaces/9 + 1},
		} {
			_, err := cfg.withDefaults()
			require.ErrorIs(t, err, ErrConfig, cfg)
		}
	})
	t.Run("EXEC-1_a_negative_Size_leaves_the_QueueLimit_alone", func(t *testing.T) {
		_, err := Config{Size: -1, QueueLimit: maxPlaces}.withDefaults()
		require.ErrorContains(t, err, "Size")
		require.NotContains(t, err.Error(), "QueueLimit")
	})
}
