// The built-in hierarchy, parents before children.
import type { ResourceKind } from '../engine/kind.ts';
import { bucketKind } from './bucket.ts';
import { collectionKind } from './collection.ts';
import { groupKind } from './group.ts';
import type { ResourceOptions } from './options.ts';
import { recordKind } from './record.ts';

export const builtInKindNames = ['bucket', 'group', 'collection', 'record'] as const;

export function builtInKinds(options: ResourceOptions): readonly ResourceKind[] {
  return [bucketKind(), groupKind(options), collectionKind(options), recordKind(options)];
}
