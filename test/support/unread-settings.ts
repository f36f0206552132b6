// The names in settings that nothing reads, as lines for the log.
import type { Settings } from '../../src/settings/settings.ts';
import type { Vocabulary } from '../../src/settings/unknown.ts';

export function unreadLines(
  settings: Settings,
  tables: Vocabulary['tables'] = [],
  families: Vocabulary['families'] = [],
  absent: Vocabulary['absent'] = [],
): readonly string[] {
  return settings.findUnread({ tables, families, absent }).map(({ line }) => line);
}
