// Default values of settings whose names and values the specification fixes.
import { describe, expect, test } from 'vitest';
import { loadIni, problemsOf } from './helpers.ts';

const kinds = ['storage', 'permission', 'cache'] as const;

describe('Without further settings', () => {
  // Proves S-020.
  test('every backend is in memory, and relational and key-value ones may take its place.', () => {
    for (const kind of kinds) {
      expect(loadIni('').get(`${kind}_backend`)).toBe('memory');
      for (const [name, url] of [
        ['postgresql', 'postgresql://db.example/coffer'],
        ['redis', 'redis://db.example'],
      ] as const)
        expect(loadIni(`${kind}_backend = ${name}\n${kind}_url = ${url}`).get(`${kind}_backend`)).toBe(name);
    }
  });

  // Proves S-236.
  test('a batch holds 25 requests.', () => {
    expect(loadIni('').get('batch_max_requests')).toBe(25);
  });

  // Proves S-233, S-237.
  test('clients may retry after 3 seconds.', () => {
    expect(loadIni('').get('retry_after_seconds')).toBe(3);
  });

  // Proves S-238.
  test('a check of the heartbeat may take 10 seconds.', () => {
    expect(loadIni('').get('heartbeat_timeout_seconds')).toBe(10);
    expect(loadIni('heartbeat_timeout_seconds = 2.5').get('heartbeat_timeout_seconds')).toBe(2.5);
  });

  // Proves S-246.
  test('a body has 10 MiB, a page 10000 objects, and no smaller page is forced.', () => {
    const settings = loadIni('');
    expect(settings.get('max_body_size')).toBe(10 * 1024 * 1024);
    expect(settings.get('storage_max_fetch_size')).toBe(10_000);
    expect(settings.get('paginate_by')).toBeUndefined();
  });

  test.each(kinds)('the pool of the %s backend has the documented size and patience.', (kind) => {
    const settings = loadIni('');
    const pool = ['pool_size', 'max_overflow', 'max_backlog', 'pool_recycle', 'pool_timeout'] as const;
    expect(pool.map((key) => settings.get(`${kind}_${key}`))).toEqual([25, 5, -1, -1, 30]);
  });
});

describe('The pool of the permission backend', () => {
  // Proves S-239.
  test('has 25 connections unless set.', () => {
    expect(loadIni('').get('permission_pool_size')).toBe(25);
    expect(loadIni('permission_pool_size = 7').get('permission_pool_size')).toBe(7);
  });

  // Proves S-240.
  test('can grow by a setting with two spellings, which must not differ.', () => {
    expect(loadIni('permission_maxoverflow = 7').get('permission_max_overflow')).toBe(7);
    expect(loadIni('permission_max_overflow = 8').get('permission_max_overflow')).toBe(8);
    const { message } = problemsOf(() => loadIni('permission_maxoverflow = 7\npermission_max_overflow = 8'));
    expect(message).toContain('permission_maxoverflow');
  });

  // Proves S-241.
  test('has an unlimited queue unless set.', () => {
    expect(loadIni('').get('permission_max_backlog')).toBe(-1);
  });

  // Proves S-242.
  test('never replaces connections because of their age unless set.', () => {
    expect(loadIni('').get('permission_pool_recycle')).toBe(-1);
  });

  // Proves S-243.
  test('lets callers wait for 30 seconds unless set.', () => {
    expect(loadIni('').get('permission_pool_timeout')).toBe(30);
  });
});

// Proves S-147.
test('Flush is switched on by the file or by the environment, and off otherwise.', () => {
  expect(loadIni('').get('flush_endpoint_enabled')).toBe(false);
  expect(loadIni('flush_endpoint_enabled = true').get('flush_endpoint_enabled')).toBe(true);
  const environment = { SVC_FLUSH_ENDPOINT_ENABLED: 'true' };
  expect(loadIni('flush_endpoint_enabled = false', { environment }).get('flush_endpoint_enabled')).toBe(true);
});
