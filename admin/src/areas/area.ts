// What an area of the console can add: tabs of objects, pages of their own, commands of the quick search. An area is a
// folder next to this file and a row in `registry.ts`.
import type { ComponentType } from 'preact';
import type { StoredObject } from '../core/objects.ts';
import type { Permits } from '../core/permits.ts';
import type { Kind, Place, Route } from '../core/places.ts';
import type { Service } from '../core/service.ts';
import type { IconName } from '../ui/icons.tsx';

/** Facts about the object that a tab belongs to. */
export interface ObjectFacts {
  readonly kind: Kind;
  /** `undefined` when the user may not read the object itself. */
  readonly object: StoredObject | undefined;
  readonly service: Service;
  readonly place: Place;
  /** Permits of the user for the object, as far as the service states them. */
  readonly permits: Permits;
}

export interface TabProps extends ObjectFacts {
  readonly id: string;
  /** Why the object cannot be read. A tab that fails in the same way does not show its failure a second time. */
  readonly failure: unknown;
  /** Parameters of the address. */
  readonly query: URLSearchParams;
  /** Loads the object again; it stays in view until then. */
  readonly reload: () => void;
}

export interface Tab {
  /** Value of `_tab` in the address. */
  readonly name: string;
  readonly label: string;
  /** Tabs are shown in this order. */
  readonly order: number;
  readonly isShown: (facts: ObjectFacts) => boolean;
  /** Files that are dropped anywhere on the object go to this tab, as `droppedFiles`. */
  readonly takesFiles?: true;
  /** Loads the code of the tab, a chunk of its own. */
  readonly load: () => Promise<ComponentType<TabProps>>;
}

export interface PageProps {
  readonly query: URLSearchParams;
}

export interface Page {
  /** Name in the address, `#/name`; `''` is the first page. */
  readonly name: string;
  readonly label: string;
  readonly icon: IconName;
  /** Entries of the sidebar are shown in this order. */
  readonly order: number;
  /** Whether the sidebar and the quick search have the page. */
  readonly isShown: (service: Service) => boolean;
  /** Whether the address opens the page, if others than those who see it may open it; by default `isShown`. */
  readonly isThere?: (service: Service) => boolean;
  readonly load: () => Promise<ComponentType<PageProps>>;
}

/** A row of the quick search that does something. */
export interface Command {
  readonly label: string;
  readonly isShown: (service: Service, route: Route) => boolean;
  /** Returns the address to go to. */
  readonly hrefOf: (route: Route) => string;
}

/** A link in the bar above every view. */
export interface ViewLink {
  readonly label: string;
  readonly title: string;
  readonly icon: IconName;
  /** Returns the address to go to; `undefined` where the link is not shown. */
  readonly hrefOf: (route: Route) => string | undefined;
}

export interface Area {
  readonly name: string;
  readonly tabs?: readonly Tab[];
  readonly pages?: readonly Page[];
  readonly commands?: readonly Command[];
  readonly viewLink?: ViewLink;
}
