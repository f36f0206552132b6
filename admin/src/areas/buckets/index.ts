// Buckets, collections and groups as lists: the first page, and the first tabs of a bucket.
import { hashOf, kinds, type Place } from '../../core/places.ts';
import type { Area, Tab } from '../area.ts';
import { isSample } from './sample/origin.ts';

/** The place that new collections and groups belong to. */
function bucketOf(place: Place): Place {
  return place.slice(0, 1);
}

export const bucketsArea: Area = {
  name: 'buckets',
  pages: [
    {
      name: '',
      label: 'Buckets',
      icon: 'home',
      order: 0,
      isShown: () => true,
      load: async () => (await import('./home.tsx')).Home,
    },
  ],
  tabs: [
    ...(['collection', 'group'] as const).map((name, index): Tab => ({
      name: kinds[name].plural,
      label: name === 'collection' ? 'Collections' : 'Groups',
      order: index,
      isShown: ({ kind }) => kind.children.includes(name),
      load: async () => {
        const { CollectionsTab, GroupsTab } = await import('./child-lists.tsx');
        return name === 'collection' ? CollectionsTab : GroupsTab;
      },
    })),
    {
      name: 'sample',
      label: 'Sample data',
      order: 90,
      isShown: ({ kind, object, service, permits }) =>
        kind.name === 'bucket' &&
        object !== undefined &&
        isSample(object.data) &&
        permits.mayChange &&
        !service.isReadOnly,
      load: async () => (await import('./sample/sample-tab.tsx')).SampleTab,
    },
  ],
  commands: [
    {
      label: 'New bucket',
      isShown: (service) => !service.isReadOnly,
      hrefOf: () => hashOf([], { _new: '1' }),
    },
    {
      label: 'Load the sample data',
      isShown: (service) => !service.isReadOnly && service.userId !== undefined,
      hrefOf: () => hashOf([], { _sample: '1' }),
    },
    ...(['collection', 'group'] as const).map((name) => ({
      label: `New ${name}`,
      isShown: (service: { readonly isReadOnly: boolean }, { place }: { readonly place: Place }) =>
        place.length > 0 && !service.isReadOnly,
      hrefOf: ({ place }: { readonly place: Place }) =>
        hashOf(bucketOf(place), { _tab: kinds[name].plural, _new: '1' }),
    })),
  ],
};
