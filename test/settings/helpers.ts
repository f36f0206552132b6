// Folders and files that tests of settings work in.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { loadSettings, type LoadOptions } from '../../src/backends/load-settings.ts';
import { SettingsError } from '../../src/settings/problems.ts';
import type { Settings } from '../../src/settings/settings.ts';

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-test-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** Writes files, by name, into a folder of their own and answers the folder. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder();
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Settings of one INI file that holds a secret and the given lines in its main section. */
export function loadIni(lines: string, options: LoadOptions = {}): Settings {
  const cwd = folderWith({ 'coffer.ini': `[app:main]\nuserid_hmac_secret = for-tests\n${lines}\n` });
  return loadSettings({ cwd, environment: {}, ...options });
}

/** What loading complains about. */
export function problemsOf(load: () => unknown): SettingsError {
  try {
    load();
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error('the settings were accepted');
}
