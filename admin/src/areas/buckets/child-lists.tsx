// The tabs of a bucket that list what is in it.
import type { JSX } from 'preact';
import { kinds } from '../../core/places.ts';
import type { TabProps } from '../area.ts';
import { ObjectList } from './object-list.tsx';

export function CollectionsTab(props: TabProps): JSX.Element {
  return <ObjectList {...props} kind={kinds.collection} tab="collections" />;
}

export function GroupsTab(props: TabProps): JSX.Element {
  return <ObjectList {...props} kind={kinds.group} tab="groups" />;
}
