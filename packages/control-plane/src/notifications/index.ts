export { dropNotifications, type Notice, raise, raiseAll, resolve } from "./notification-store.ts";
export { notificationRoutes } from "./routes.ts";
