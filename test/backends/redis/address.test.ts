// Addresses of Redis servers in settings.
import { describe, expect, it } from 'vitest';
import { findRedisAddress, redisIdentity } from '../../../src/backends/redis/address.ts';

describe('the address of a Redis server', () => {
  it('is this machine by default.', () => {
    const local = { nodes: [{ host: '127.0.0.1', port: 6379 }], isCluster: false, tls: false, db: 0 };
    expect(findRedisAddress(undefined)).toEqual({ ...local, username: undefined, password: undefined });
    expect(findRedisAddress('')).toEqual(findRedisAddress(undefined));
  });

  it.each([
    ['redis://host', 'host', 6379, 0, undefined, undefined],
    ['redis://host/', 'host', 6379, 0, undefined, undefined],
    ['redis://host:1234/5', 'host', 1234, 5, undefined, undefined],
    ['redis://:pass@host', 'host', 6379, 0, undefined, 'pass'],
    ['redis://user:p%40ss%2F@host:1/2', 'host', 1, 2, 'user', 'p@ss/'],
    ['redis://user:a:b@host', 'host', 6379, 0, 'user', 'a:b'],
    ['redis://[::1]:7000', '::1', 7000, 0, undefined, undefined],
  ] as const)('is read from %s.', (url, host, port, db, username, password) => {
    const address = { nodes: [{ host, port }], isCluster: false, tls: false, username, password, db };
    expect(findRedisAddress(url)).toEqual(address);
  });

  it('may require TLS, and name several nodes of a cluster.', () => {
    expect(findRedisAddress('rediss://host')?.tls).toBe(true);
    expect(findRedisAddress('redis+cluster://:p@a:1,b:2,c')).toEqual({
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 2 },
        { host: 'c', port: 6379 },
      ],
      isCluster: true,
      tls: false,
      username: undefined,
      password: 'p',
      db: 0,
    });
    expect(findRedisAddress('rediss+cluster://a')).toMatchObject({ isCluster: true, tls: true });
  });

  it.each([
    'http://host',
    'redis:host',
    'redis://',
    'redis://host:99999',
    'redis://host:port',
    'redis://host/name',
    'redis://a,b',
    'redis+cluster://a/1',
    'redis+cluster://a,',
    'redis://host?x=1',
    'data/coffer.sqlite3',
  ])('is not %s.', (url) => {
    expect(findRedisAddress(url)).toBeUndefined();
  });

  it('is identified by its target, not by its spelling.', () => {
    const identity = (url: string): string => redisIdentity(findRedisAddress(url)!);
    expect(identity('redis://127.0.0.1')).toBe(identity('redis://:x@127.0.0.1:6379/0'));
    expect(identity('redis+cluster://a,b:1')).toBe(identity('redis+cluster://b:1,a:6379'));
    expect(identity('redis://a/1')).not.toBe(identity('redis://a/2'));
  });
});
