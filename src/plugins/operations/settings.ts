// Settings of the plugin.
import { inSection, setting } from '../../settings/definition.ts';
import { integer, list, optional, text } from '../../settings/readers.ts';

export const operationsSettings = inSection('Operations', {
  operations_read_principals: setting(
    list('principals'),
    'Principals that may read figures, log lines, settings and other facts about the service below /operations. Empty means none.',
    { default: [] },
  ),
  operations_write_principals: setting(
    list('principals'),
    'Principals that may retry and delete failed deliveries, and start backups. Empty means none.',
    { default: [] },
  ),
  operations_log_bytes: setting(
    integer({ min: 100_000, max: 100_000_000 }),
    'Maximum size in bytes of the newest log lines that each process keeps in memory for /operations/log.',
    { default: 1_000_000 },
  ),
  operations_backup_folder: setting(
    optional(text('a folder')),
    'Folder for backups that POST /operations/backups makes of SQLite. Not set means none can be made.',
    { default: undefined },
  ),
  operations_backup_keep: setting(
    integer({ min: 1, max: 1000 }),
    'Maximum number of backups in operations_backup_folder. A new one replaces the oldest. Backups with a time in the future, of a wrong clock, are not counted and not removed.',
    { default: 5 },
  ),
});
