"""Hire people for physical work from a program: the client of Legwork's API."""

from ._async import AsyncClient as AsyncClient, AsyncEventStream as AsyncEventStream, AsyncPages as AsyncPages
from ._errors import *
from ._http import DEFAULT_BASE_URL as DEFAULT_BASE_URL, VERSION as __version__, File as File
from ._objects import *
from ._sync import Client as Client, EventStream as EventStream, Pages as Pages
from ._webhooks import Webhook as Webhook, WebhookEvent as WebhookEvent
