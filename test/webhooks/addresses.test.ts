// Addresses that deliveries may connect to, and protection against DNS rebinding.
import { describe, expect, it } from 'vitest';
import { guardedLookup, isAllowedAddress, isLocalName } from '../../src/webhooks/addresses.ts';

const outside = ['8.8.8.8', '203.0.114.1', '2606:4700:4700::1111', '::ffff:8.8.8.8', '64:ff9b::808:808'];
const inside = [
  '127.0.0.1',
  '127.255.0.3',
  '10.1.2.3',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '100.64.0.1',
  '::1',
  'fc00::1',
  'fd12:3456::1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
  '64:ff9b::10.0.0.1',
  '2002:7f00:1::',
  '192.0.2.1',
  '192.88.99.1',
  '198.51.100.1',
  '203.0.113.1',
  '2001:db8::1',
  '3fff::1',
  '5f00::1',
];
const nowhere = [
  '0.0.0.0',
  '169.254.169.254',
  '::ffff:169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  'fe80::1',
  'fe80::1%lo',
  'ff02::1',
  'localhost',
  '',
];

describe('addresses of receivers', () => {
  it.each(outside)('%s is public.', (address) => {
    expect(isAllowedAddress(address, { allowPrivate: false })).toBe(true);
  });

  it.each(inside)('%s is private and requires allow_private.', (address) => {
    expect(isAllowedAddress(address, { allowPrivate: false })).toBe(false);
    expect(isAllowedAddress(address, { allowPrivate: true })).toBe(true);
  });

  it.each(nowhere)('"%s" is never a receiver.', (address) => {
    expect(isAllowedAddress(address, { allowPrivate: false })).toBe(false);
    expect(isAllowedAddress(address, { allowPrivate: true })).toBe(false);
  });

  it('literal addresses and localhost are local names.', () => {
    const hostOf = (text: string): string => new URL(text).hostname;
    for (const text of [
      'http://127.1/',
      'http://0x7f000001/',
      'http://[::1]/',
      'http://localhost/',
      'http://a.localhost',
    ]) {
      expect(isLocalName(hostOf(text)), text).toBe(true);
    }
    for (const text of ['http://example.org/', 'http://localhost.example.org/', 'http://127.0.0.1.example.org']) {
      expect(isLocalName(hostOf(text)), text).toBe(false);
    }
  });

  it('a name with a private address is refused by each form of lookup.', async () => {
    const look = (allowPrivate: boolean, all: boolean): Promise<unknown> =>
      new Promise((resolve) => {
        guardedLookup({ allowPrivate })('localhost', { all }, (error, address) => resolve(error ?? address));
      });
    for (const all of [true, false]) {
      expect(await look(false, all)).toMatchObject({ name: 'ForbiddenAddress' });
      expect(JSON.stringify(await look(true, all))).toMatch(/127\.0\.0\.1|::1/);
    }
  });
});
