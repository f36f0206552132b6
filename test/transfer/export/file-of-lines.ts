// Exports that are written line by line, for tests of imports.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { ListKey } from '../../../src/core/objects/stored.ts';

/** Writes an export of format 1 with these lines and returns its path. */
export function fileOf(lines: readonly string[], encoding: 'utf8' | 'latin1' = 'utf8'): string {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-lines-'));
  onTestFinished(() => {
    rmSync(folder, { recursive: true });
  });
  const path = join(folder, 'x.ndjson');
  const header = '{"coffer":"export","format":1,"software":"x","begun":"now","secrets":{}}';
  const bytes = Buffer.from([header, ...lines].map((line) => `${line}\n`).join(''), encoding);
  const counts = { lists: 1, objects: 1, tombstones: 0, permissions: 0, memberships: 0, moving: 1 };
  const summary = { ...counts, permissionsDigest: '', membershipsDigest: '' };
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  writeFileSync(path, Buffer.concat([bytes, Buffer.from(`${JSON.stringify({ summary, sha256 })}\n`)]));
  return path;
}

/** The line before the entries of a list. */
export const head = (list: ListKey, more: object = {}): string =>
  JSON.stringify({ list: { kind: list.kind, parent: list.parent, clock: 9, ...more } });

/** The line after the entries of a list. */
export const end = (more: object = {}): string =>
  JSON.stringify({ end: { clock: 9, horizon: 0, objects: 0, tombstones: 0, digest: '', isMoving: true, ...more } });
