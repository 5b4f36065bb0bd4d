// Without the fonts that the default theme brings: the reader's own are good, and nothing is loaded.
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default theme;
