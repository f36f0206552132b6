// Misspelt names of settings that contain a kind, a policy, a listener or a limit.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createService } from '../../src/app/service.ts';
import { loadSettings, settingsOf } from '../../src/backends/load-settings.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { definePlugin, type Plugin } from '../../src/http/plugin.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { run, workingFolder } from '../cli/process.ts';

const secret = { userid_hmac_secret: 'a secret that is long enough for tests' };

const widgets = definePlugin({
  name: 'widgets',
  setup: () => ({ kinds: [{ name: 'widget', path: '/widgets', flavour: 'shareable' }] }),
});

/** Starts a service, and returns its warnings about names. */
async function warningsOf(settings: Settings, plugins: readonly Plugin[] = []): Promise<readonly string[]> {
  const lines: string[] = [];
  const warn = (fields: object | string): void => void (typeof fields === 'string' && lines.push(fields));
  const logger: Logger = { ...silentLogger, warn };
  const service = await createService({ settings, logger, plugins });
  await service.close();
  return lines.filter((line) => /unknown setting|has no effect/.test(line));
}

const given = (values: Readonly<Record<string, string>>): Settings => settingsOf({ ...secret, ...values });

describe('Names with a kind', () => {
  test.each([
    ['recrod_cache_expires_seconds', '5', 'did you mean record_cache_expires_seconds?'],
    ['bucket_creat_principals', 'system.Everyone', 'did you mean bucket_create_principals?'],
    ['record_cretae_principals', 'account:a', 'did you mean record_create_principals?'],
    ['widgets_write_principals', 'account:a', ''],
    ['buckte_id_generator', 'NameGenerator', 'did you mean bucket_id_generator?'],
    ['plural_records_get_enabled', 'true', 'did you mean plural_record_get_enabled?'],
    ['multiauth.policy.basicauth.usee', 'x', 'this policy has no such parameter'],
    ['multiauth.policy.basicaut.use', 'x', ''],
    ['event_listeners.hook.use', 'webhook', ''],
  ])('are warned of when they are misspelt: %s', async (name, value, advice) => {
    const lines = await warningsOf(given({ [name]: value }));
    expect(lines).toEqual([expect.stringContaining(`unknown setting ${name}`)]);
    expect(lines[0]).toContain(advice);
  });

  test.each([
    ['plural_records_get_enabled', 'plural_record_get_enabled'],
    ['object_buckets_delete_enabled', 'object_bucket_delete_enabled'],
    ['object_record_delet_enabled', 'object_record_delete_enabled'],
    ['plural_widget_delete_enabled', 'plural_bucket_delete_enabled'],
  ])('prevent the start where they would disable a method: %s', async (name, meant) => {
    const message = `${name} = "false" (values): disables nothing, because no kind of objects or no method has this name; did you mean ${meant}?`;
    await expect(createService({ settings: given({ [name]: 'false' }), logger: silentLogger })).rejects.toThrow(
      message,
    );
  });

  test('of plugins, of methods that a kind does not have, and with ids are known.', async () => {
    const settings = given({
      plural_widget_delete_enabled: 'false',
      object_widget_put_enabled: 'false',
      object_record_post_enabled: 'false',
      plural_record_put_enabled: 'false',
      widget_create_principals: 'system.Authenticated',
      widget_read_principals: 'system.Authenticated',
      bucket_read_principals: 'account:a',
      collection_write_principals: 'account:a',
      history_read_principals: 'account:a',
      account_id_generator: 'NameGenerator',
      widget_cache_expires_seconds: '1',
      'shop.news.record_cache_expires_seconds': '1',
      shop_record_cache_expires_seconds: '1',
      'multiauth.policy.basicauth.use': 'basicauth',
      'multiauth.policy.basicauth.realm': 'Ours',
      includes: 'history accounts',
      'multiauth.policies': 'account basicauth',
    });
    expect(await warningsOf(settings, [widgets])).toEqual([]);
  });

  test('of built-in plugins that are not included are reported with the plugin.', async () => {
    const settings = given({ plural_account_get_enabled: 'false', history_read_principals: 'account:a' });
    const owned = (name: string, plugin: string): string =>
      `${name} (values) has no effect: it belongs to the plugin ${plugin}, which the setting includes does not name`;
    expect(await warningsOf(settings)).toEqual([
      owned('plural_account_get_enabled', 'accounts'),
      owned('history_read_principals', 'history'),
    ]);
  });
});

describe('Variables with a kind', () => {
  const load = (environment: Readonly<Record<string, string>>): Settings =>
    loadSettings({
      overrides: { ...secret, storage_backend: 'memory', permission_backend: 'memory' },
      environment,
      cwd: workingFolder(),
    });

  test('are known and misspelt like names in files.', async () => {
    const settings = load({
      SVC_PLURAL_RECORD_GET_ENABLED: 'false',
      SVC_MULTIAUTH_POLICY_BASICAUTH_REALM: 'Ours',
      SVC_RECORD_CRETAE_PRINCIPALS: 'account:a',
      SVC_RATE_LIMITS_VISITORS_REQUESTS: '5',
    });
    expect(await warningsOf(settings)).toEqual([
      'unknown setting SVC_RECORD_CRETAE_PRINCIPALS (environment): did you mean SVC_RECORD_CREATE_PRINCIPALS?',
      'unknown setting SVC_RATE_LIMITS_VISITORS_REQUESTS (environment)',
    ]);
  });

  test('prevent the start where they would disable a method.', async () => {
    const settings = load({ SVC_OBJECT_RECORDS_DELETE_ENABLED: 'no' });
    await expect(createService({ settings, logger: silentLogger })).rejects.toThrow(
      /SVC_OBJECT_RECORDS_DELETE_ENABLED = "no" \(environment\): disables nothing.*SVC_OBJECT_RECORD_DELETE_ENABLED\?/,
    );
  });
});

test('coffer check reports misspelt names with a kind.', async () => {
  const cwd = workingFolder();
  const lines = [
    '[app:main]',
    `userid_hmac_secret = ${secret.userid_hmac_secret}`,
    'record_cretae_principals = account:a',
  ];
  writeFileSync(join(cwd, 'coffer.ini'), [...lines, 'plural_records_get_enabled = false', ''].join('\n'));
  const { code, err } = await run(['check'], { cwd });
  expect(code).toBe(1);
  expect(err).toMatch(/^warning +unknown setting record_cretae_principals .*did you mean record_create_principals\?$/m);
  expect(err).toMatch(/^problem +plural_records_get_enabled = "false" .*: disables nothing/m);
});
