// Random preconditions, most of them about what there is.
import fc from 'fast-check';

/** `likely`: the timestamp that most often holds. */
export function conditions(likely: string): fc.Arbitrary<Readonly<Record<string, string>>> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant({}) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          fc.constantFrom('if-match', 'if-none-match'),
          fc.constantFrom(
            ...[1, 2, 3, 4, 5].map(() => likely),
            '"{clock}"',
            '"{clock}"',
            '"{gone}"',
            '"{gone}"',
            '*',
            '*',
            '*',
            '*',
            '"{now}"',
            '12',
            'W/"1"',
          ),
        )
        .map(([name, value]) => ({ [name]: value })),
    },
  );
}
