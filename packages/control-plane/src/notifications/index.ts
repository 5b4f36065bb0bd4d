export { dropNotifications, raise, resolve } from "./notification-store.ts";
export { notificationRoutes } from "./routes.ts";
