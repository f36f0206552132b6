// `coffer init --from`: a new file with everything that an old one says.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { loadAllBuiltIn } from '../../src/app/built-in-plugins.ts';
import { loadSettings } from '../../src/backends/load-settings.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { run, workingFolder } from './process.ts';
import { unreadLines } from '../support/unread-settings.ts';

const plugins = await loadAllBuiltIn();
const tables = plugins.map(({ settings = {} }) => settings);
const families = plugins.flatMap((plugin) => plugin.families ?? []);

const files = ['kinto-26.ini', 'remote-settings-local.ini'].map((name) =>
  fileURLToPath(new URL(`../settings/${name}`, import.meta.url)),
);

function load(configFile: string): Settings {
  return loadSettings({ configFile, environment: {}, purpose: 'backends' });
}

/** Everything that settings say, by name. */
function valuesOf(settings: Settings): unknown {
  const own = tables.map((table) => settings.read(table));
  const others = settings.keys().filter((key) => families.some(({ pattern }) => pattern.test(key)));
  // The built-in ones have other names as well.
  const policies = { 'multiauth.groupfinder': '', 'multiauth.authorization_policy': '' };
  return [{ ...settings.values, ...policies }, own, others.map((key) => [key, settings.lookup(key)])];
}

describe('coffer init --from', () => {
  test.each(files)('prints an equivalent file with current names: %s.', async (old) => {
    const cwd = workingFolder();
    const { out } = await run(['init', '--from', old], { cwd });
    writeFileSync(join(cwd, 'new.ini'), out);
    const [before, after] = [load(old), load(join(cwd, 'new.ini'))];
    expect(valuesOf(after)).toEqual(valuesOf(before));
    expect(after.warnings).toEqual([]);
    expect(unreadLines(after, tables, families)).toEqual([]);
    const active = out.split('\n').filter((line) => !line.startsWith('#'));
    expect(active.filter((line) => /^kinto\.|\bkinto(?:_|\.(?:core|plugins|views|authorization))/.test(line))).toEqual(
      [],
    );
  });

  test.each(files)('writes equivalent TOML that only its owner can read: %s.', async (old) => {
    const cwd = workingFolder();
    const { out } = await run(['init', '--from', old, '--config', 'made/new.toml'], { cwd });
    expect(out).toContain('coffer check --config made/new.toml');
    const path = join(cwd, 'made/new.toml');
    expect(valuesOf(load(path))).toEqual(valuesOf(load(old)));
    expect(statSync(path).mode & 0o077).toBe(0);
  });

  test('keeps secrets, writes settings without effect and unknown ones as comments, and reports the unknown.', async () => {
    const cwd = workingFolder();
    const lines = [
      '[app:main]',
      'kinto.user_hmac_secret = 50%%-hunter2',
      'kinto.sentry_dsn = https://k@errors.example/1',
      'kinto.our_own_thing = first',
      '    second',
      'kinto.paginate_by = many',
      'multiauth.policies = basicauth',
      'kinto.event_listeners = queue',
      'kinto.event_listeners.queue.use = kinto_redis.listeners',
      'kinto.eos_message = "We are moving"',
      'mail.username = " #1 "',
    ];
    writeFileSync(join(cwd, 'old.ini'), lines.join('\n'));
    const { code, out, err } = await run(['init', '--from', 'old.ini'], { cwd });
    expect(code).toBe(0);
    expect(out).toContain('\nuserid_hmac_secret = 50%%-hunter2\n');
    expect(out).toContain('\nevent_listeners.queue.use = redis\n');
    expect(out).toContain('\n# our_own_thing = first\n# second\n#   (unknown)\n');
    expect(out).toContain('\n# sentry_dsn = https://k@errors.example/1\n#   (errors are reported in the log only)\n');
    expect(out).toContain('\n# Wrong: expected a whole number, 1 or more.\npaginate_by = many\n');
    expect(out).toContain('\neos_message = We are moving\n');
    expect(out).toContain('\nmail.username = " #1 "\n');
    expect(err).toContain('kinto.our_own_thing (old.ini line 4): unknown setting; kept as a comment');
    expect(err).toContain('paginate_by: expected a whole number');
    expect(err).not.toContain('hunter2');
  });

  test('offers the choices when the old file has no policies and no secret.', async () => {
    const cwd = workingFolder();
    writeFileSync(join(cwd, 'old.ini'), '[app:main]\nkinto.includes = kinto.plugins.default_bucket\n');
    const { out } = await run(['init', '--from', 'old.ini'], { cwd });
    expect(out).toMatch(/^# userid_hmac_secret = [\w-]{43}$/m);
    expect(out).toMatch(/^# userid_hmac_legacy_empty = true$/m);
    expect(out).toMatch(/^# multiauth\.policies =$/m);
    expect(out.indexOf('# multiauth.policies =')).toBeLessThan(out.indexOf('# userid_hmac_secret'));
    expect(out).toMatch(/^# default_bucket_hmac_legacy_empty = true$/m);
    expect(out).not.toMatch(/^userid_hmac/m);
  });

  test('never replaces a file, and reports a missing source.', async () => {
    const cwd = workingFolder();
    writeFileSync(join(cwd, 'old.ini'), '[app:main]\nreadonly = true\n');
    const over = await run(['init', '--from', 'old.ini', '--config', 'old.ini'], { cwd });
    expect([over.code, over.err]).toEqual([1, expect.stringContaining('old.ini exists already')]);
    expect(readFileSync(join(cwd, 'old.ini'), 'utf8')).toBe('[app:main]\nreadonly = true\n');
    const none = await run(['init', '--from', 'no.ini'], { cwd });
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('the file does not exist')]);
  });
});
