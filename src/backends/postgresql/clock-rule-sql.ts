// The clock rule as SQL, for functions of the server and statements that change many lists. A clock that is NULL, because
// the list was only locked so far, makes `greatest` return the current time.
import { clockRule } from '../../core/lists/clock-rule.ts';

export const clockRuleSql = clockRule<string, string>({
  literal: (value) => String(value),
  sum: (a, b) => `(${a} + ${b})`,
  larger: (a, b) => `greatest(${a}, ${b})`,
  smaller: (a, b) => `least(${a}, ${b})`,
  isAtMost: (a, b) => `(${a} <= ${b})`,
});
