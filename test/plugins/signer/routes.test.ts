// Routes from sources to previews and destinations.
import { describe, expect, it } from 'vitest';
import { resourcesReader, Routes } from '../../../src/plugins/signer/routes.ts';

function routes(text: string): Routes {
  const reading = resourcesReader.read(text);
  if (reading.kind !== 'value') throw new Error(`not readable: ${text}`);
  return new Routes(reading.value);
}

const id = (bucket: string, collection: string): { bucket: string; collection: string } => ({ bucket, collection });

describe('Resources', () => {
  it('of a bucket apply to all its collections.', () => {
    const { resources } = routes('/buckets/staging -> /buckets/main');
    expect(resources).toEqual([
      {
        source: { bucket: 'staging', collection: undefined },
        preview: undefined,
        destination: { bucket: 'main', collection: undefined },
      },
    ]);
    const all = new Routes(resources);
    const route = { source: id('staging', 'a'), preview: undefined, destination: id('main', 'a') };
    expect(all.from(id('staging', 'a'))).toEqual(route);
    expect(all.to(id('main', 'a'))).toEqual(route);
    expect(all.from(id('main', 'a'))).toBeUndefined();
    expect(all.to(id('staging', 'a'))).toBeUndefined();
  });

  it('are read from several lines, with semicolons, and from arrays.', () => {
    const lines = '/buckets/a/collections/x;/buckets/b/collections/y\n\n  /buckets/s->/buckets/p->/buckets/d  ';
    expect(routes(lines).resources).toHaveLength(2);
    expect(routes(JSON.stringify(lines.split('\n'))).resources).toEqual(routes(lines).resources);
    expect(routes(lines).to(id('p', 'c'))?.source).toEqual(id('s', 'c'));
  });

  it('can end with a slash, and name a collection by two ids.', () => {
    expect(routes('/buckets/s/ -> /buckets/p/ -> /buckets/d/').resources).toEqual(
      routes('/buckets/s -> /buckets/p -> /buckets/d').resources,
    );
    const short = routes('s/x;d/y').resources;
    expect(short).toEqual(routes('/buckets/s/collections/x/ -> /buckets/d/collections/y/').resources);
  });

  it('of a collection take precedence over those of its bucket.', () => {
    const all = routes(
      '/buckets/s -> /buckets/p -> /buckets/d\n/buckets/s/collections/x -> /buckets/other/collections/z',
    );
    expect(all.from(id('s', 'x'))?.destination).toEqual(id('other', 'z'));
    expect(all.to(id('other', 'z'))?.source).toEqual(id('s', 'x'));
    expect(all.from(id('s', 'y'))?.destination).toEqual(id('d', 'y'));
  });

  it('of a bucket do not apply to collections that they would publish where another line publishes.', () => {
    const all = routes('/buckets/s -> /buckets/p -> /buckets/d\n/buckets/s/collections/x -> /buckets/d/collections/z');
    expect(all.from(id('s', 'z'))).toBeUndefined();
    expect(all.to(id('p', 'z'))).toBeUndefined();
    expect(all.to(id('d', 'z'))?.source).toEqual(id('s', 'x'));
  });

  it.each([
    'staging -> main',
    '/buckets/a',
    '/buckets/a -> /buckets/b/collections/c',
    '/buckets/a -> /buckets/b -> /buckets/c -> /buckets/d',
    '/buckets/a -> /buckets/a',
    '/buckets/a -> /buckets/b\n/buckets/c -> /buckets/b',
    '/buckets/a/groups/g -> /buckets/b/groups/g',
    '/buckets/a -> ',
  ])('are refused as "%s".', (text) => {
    expect(resourcesReader.read(text).kind).toBe('wrong');
  });
});
